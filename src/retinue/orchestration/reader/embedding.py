"""How like each skill is to a clause by meaning: sentence embeddings by fastembed, of a model that is on this machine.

Nothing is downloaded. `router` ranks by it beside words and 4-grams; fastembed is loaded when the first clause is read.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache
from hashlib import sha256
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from retinue.errors import InvalidInput, MissingFile, NotInstalled
from retinue.orchestration.reader.router import Likeness
from retinue.tools.cache_file import read_cache_file, write_cache_file

if TYPE_CHECKING:
    import numpy as np
    from fastembed import TextEmbedding
    from numpy.typing import NDArray

_HINT: Final = (
    "Set `models.embed` to the absolute path of a folder with `model.onnx`, `tokenizer.json` and "
    "`tokenizer_config.json`, or to a model that fastembed knows and has on disk; or leave it empty."
)
_MODEL_FILES: Final = ("model.onnx", "onnx/model.onnx")
_TOKENIZER_FILES: Final = ("tokenizer.json", "tokenizer_config.json")
_POOLING_FILE: Final = "1_Pooling/config.json"
_DIGEST_BYTES: Final = 32
_MAX_TEXTS: Final = 10_000
_MAX_BYTES: Final = 128 * 1024 * 1024


class SentenceEmbedder:
    """Gives `Planner` and `Router` the likeness of skills and clauses, by a sentence-embedding model.

    A skill is as like a clause as its nearest text and all its texts are on average, each counting half.

    Args:
        model: An absolute path (`~` allowed) of a folder with an ONNX model, or the name of a model that fastembed
            knows and has on disk.
        cache_dir: Where the embeddings of skills are kept; None keeps none.
    """

    def __init__(self, model: str, *, cache_dir: Path | None = None) -> None:
        self.model = model
        path = Path(model).expanduser()
        self._folder = path if path.is_absolute() else None
        self._cache = None if cache_dir is None else cache_dir / "embeddings"

    def __call__(self, texts: Sequence[Sequence[str]]) -> Likeness:
        """What tells how like each skill is to a clause.

        Args:
            texts: What each skill says of itself; at least one text each.

        Raises:
            NotInstalled: The extra `embed` is missing.
            MissingFile: The folder, or a file in it, is not there.
            InvalidInput: The model cannot be loaded.
        """
        if find_spec("fastembed") is None:
            raise NotInstalled(
                "Ranking skills by meaning (`models.embed`) needs an optional part.",
                hint="Install `retinue[embed]`, or leave `models.embed` empty.",
            )
        # What names the model as it is now.
        files: list[tuple[str, int, int]] = []
        if self._folder is not None:
            names = [_model_file(self._folder), *_TOKENIZER_FILES, _POOLING_FILE]
            for path in (self._folder / name for name in names):
                if path.is_file():
                    stat = path.stat()
                    files.append((str(path), stat.st_size, stat.st_mtime_ns))
                elif path.name in _TOKENIZER_FILES:
                    raise MissingFile(f"The embedding model has no {path.name!r}.", hint=_HINT, path=str(path))
        state = sha256(repr((self.model, version("fastembed"), files)).encode()).hexdigest().encode()
        if not texts:
            return lambda _clause: ()
        import numpy as np  # noqa: PLC0415 - optional

        vectors = self._vectors([text for several in texts for text in several], state)
        counts = np.array([len(several) for several in texts])
        starts = np.cumsum(counts) - counts

        @lru_cache(maxsize=256)
        def likeness(clause: str) -> Sequence[float]:
            scores = vectors @ self._embed([clause], "query")[0]
            nearest, total = np.maximum.reduceat(scores, starts), np.add.reduceat(scores, starts)
            return ((nearest + total / counts) / 2).tolist()

        return likeness

    def _vectors(self, texts: Sequence[str], state: bytes) -> "NDArray[np.float32]":
        """The embedding of each text; only those that are not kept are computed."""
        import numpy as np  # noqa: PLC0415 - optional

        digests = [sha256(text.encode(errors="replace")).digest() for text in texts]
        embeddings: dict[bytes, bytes] = {}
        head, _, body = (
            read_cache_file(self._cache, max_bytes=_MAX_BYTES).partition(b"\n") if self._cache else (b"",) * 3
        )
        cached_state, _, size = head.partition(b" ")
        if cached_state == state:  # else another model made them
            step = _DIGEST_BYTES + int(size)
            for at in range(0, len(body), step):
                embeddings[body[at : at + _DIGEST_BYTES]] = body[at + _DIGEST_BYTES : at + step]
        missing = {digest: text for digest, text in zip(digests, texts, strict=True) if digest not in embeddings}
        if missing:
            rows = self._embed(list(missing.values()), "passage")
            embeddings |= {digest: row.tobytes() for digest, row in zip(missing, rows, strict=True)}
            if self._cache:
                entries = list(({digest: embeddings[digest] for digest in digests} | embeddings).items())[:_MAX_TEXTS]
                head = b"%s %d\n" % (state, len(entries[0][1]))
                write_cache_file(self._cache, [head, *(digest + vector for digest, vector in entries)])
        return np.frombuffer(b"".join(embeddings[digest] for digest in digests), np.float32).reshape(len(texts), -1)

    def _embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> "NDArray[np.float32]":
        """The embedding of each text, of length 1. One at a time: so it is the same whatever stands beside it."""
        import numpy as np  # noqa: PLC0415 - optional

        model = self._text_embedding
        embed: Callable[..., Iterable[object]] = model.query_embed if kind == "query" else model.passage_embed
        try:
            rows = np.array(list(embed(texts, batch_size=1)), np.float32)
        except Exception as error:
            raise self._model_error(error) from error
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)

    @cached_property
    def _text_embedding(self) -> "TextEmbedding":
        try:
            from fastembed import TextEmbedding  # noqa: PLC0415 - optional, and slow to import
            from fastembed.common.model_description import ModelSource, PoolingType  # noqa: PLC0415 - as above
            from loguru import logger  # noqa: PLC0415 - as above

            logger.disable("fastembed")  # it writes to stderr what the error below says
            location: dict[str, Any] = {}
            if self._folder is not None:
                # fastembed has one list of models for the whole process, and refuses the same name twice.
                if all(one["model"] != self.model for one in TextEmbedding.list_supported_models()):
                    pooling = self._folder / _POOLING_FILE
                    takes_first = pooling.is_file() and json.loads(pooling.read_bytes()).get("pooling_mode_cls_token")
                    TextEmbedding.add_custom_model(
                        model=self.model,
                        pooling=PoolingType.CLS if takes_first else PoolingType.MEAN,
                        normalization=False,
                        sources=ModelSource(url=self._folder.as_uri()),  # never read: the path is given
                        dim=0,  # nothing here asks for it
                        model_file=_model_file(self._folder),
                    )
                location = {"specific_model_path": str(self._folder), "cache_dir": str(self._folder)}
            return TextEmbedding(
                self.model, threads=1, providers=["CPUExecutionProvider"], local_files_only=True, **location
            )
        except Exception as error:  # each of the packages below has its own errors
            raise self._model_error(error) from error

    def _model_error(self, error: Exception) -> InvalidInput:
        reason = " ".join(str(error).split())[:300].rstrip(".")
        return InvalidInput(f"The embedding model {self.model!r} cannot be used: {reason}.", hint=_HINT)


def _model_file(folder: Path) -> str:
    for name in _MODEL_FILES:
        if (folder / name).is_file():
            return name
    raise MissingFile(f"There is no embedding model in {str(folder)!r}.", hint=_HINT, path=str(folder))
