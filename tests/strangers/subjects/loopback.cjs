// Servers of npm listen at every address of the machine; with this loaded before them, at 127.0.0.1 alone.
const { Server } = require("node:net");

const { listen } = Server.prototype;
Server.prototype.listen = function (port, ...rest) {
  return listen.call(this, { port, host: "127.0.0.1" }, ...rest);
};
