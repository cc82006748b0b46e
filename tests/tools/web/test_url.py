"""URLs are read strictly, and mean one thing only."""

import sys

import pytest
from hypothesis import given, strategies as st

from retinue.errors import InvalidInput, NotInstalled
from retinue.tools.web.url import MAX_URL, parse_url


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("http://example.org", "http://example.org/"),
        ("HTTPS://Example.ORG:443/A?b=c#d", "https://example.org/A?b=c"),
        ("http://example.org:/x", "http://example.org/x"),
        ("http://example.org:8080", "http://example.org:8080/"),
        ("http://example.org./x", "http://example.org/x"),
        ("http://example.org?q=1", "http://example.org/?q=1"),
        ("https://faß.de/ü?q=ö", "https://xn--fa-hia.de/%C3%BC?q=%C3%B6"),
        ("http://bücher。example/", "http://xn--bcher-kva.example/"),
        ("http://[2606:4700:0::1111]:8080/", "http://[2606:4700::1111]:8080/"),
        ("http://1.1.1.1/", "http://1.1.1.1/"),
        ("http://1.1.1.1./", "http://1.1.1.1/"),
        ("http://_dmarc.example.org/%zz", "http://_dmarc.example.org/%zz"),
    ],
)
def test_a_url_has_one_normal_form(text: str, normal: str) -> None:
    assert parse_url(text).text == normal
    assert parse_url(normal).text == normal


@pytest.mark.parametrize(
    "text",
    [
        "", "example.org", "//example.org/", "http:example.org", "http:/example.org", "http://", "http:///etc/passwd",
        "file:///etc/passwd", "ftp://example.org/", "gopher://example.org/", "javascript:alert(1)", "data:text/html,x",
        "http://user@example.org/", "http://user:word@example.org/", "http://example.org@127.0.0.1/",
        "http://example.org\\@127.0.0.1/", "http://127.0.0.1\\.example.org/", "http://exa mple.org/",
        "http://example.org/a b", "http://example.org/\r\nHost: inner", "http://example.org\t/", " http://example.org/",
        "http://example.org\x00.inner/", "http://example.org:0/", "http://example.org:65536/", "http://example.org:8o/",
        "http://example.org:80:80/", "http://exa%6dple.org/", "http://a..b/", "http://example.org../", "http://-a.org/",
        "http://.example.org/", f"http://{'a' * 64}.org/", f"http://{'a.' * 130}org/", "http://[::1/", "http://::1/",
        "http://[fe80::1%25eth0]/", "http://[fe80::1%eth0]/", "http://[v1.x]/", "http://[]/", "http://[::g]/",
        "http://[::1]example.org/", "http://\ud800.org/", "http://xn--a/\u2028", "http://\u2488.org/", "http://a\u200b\u200bb\ufeff.org/",
    ],
)  # fmt: skip
def test_what_could_be_misunderstood_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_url(text)
    assert refused.value.hint


@pytest.mark.parametrize(
    "host",
    [
        "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1", "0x7F.0.0.0x1", "0177.0.0.1", "017700000001",
        "127.0.0.01", "127.0.0.1.2", "0", "0x", "1.2.3.256", "192.168.257", "example.127", "a.0x1",
    ],
)  # fmt: skip
def test_a_number_that_hides_an_address_is_refused(host: str) -> None:
    with pytest.raises(InvalidInput, match="number that hides an address"):
        parse_url(f"http://{host}/")


WIDE = "127.0.0.1".translate({ord(str(digit)): chr(0xFF10 + digit) for digit in range(10)})


@pytest.mark.parametrize("host", [WIDE, "127。0。0。1", "⑫⑦.0.0.1", "127.0.0.1", "[::ffff:127.0.0.1]"])
def test_an_address_in_other_letters_is_an_address(host: str) -> None:
    assert parse_url(f"http://{host}/").address is not None


def test_a_url_that_is_too_long_is_refused() -> None:
    with pytest.raises(InvalidInput, match=str(MAX_URL)):
        parse_url("http://example.org/" + "a" * MAX_URL)


def test_without_the_extra_names_of_other_letters_cannot_be_spelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "idna", None)
    with pytest.raises(NotInstalled) as refused:
        parse_url("http://bücher.example/")
    assert "retinue[web]" in refused.value.hint
    assert parse_url("http://example.org/").host == "example.org"


@given(st.text(max_size=60) | st.from_regex(r"https?://[^/]{0,30}/?.{0,20}", fullmatch=True))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        url = parse_url(text)
    except InvalidInput:
        return
    assert url.text.isascii()
    assert parse_url(url.text) == url


@pytest.mark.parametrize(
    ("reference", "leads_to"),
    [
        ("/b", "https://example.org/b"),
        ("c?d", "https://example.org/a/c?d"),
        ("//other.org/x", "https://other.org/x"),
        ("http://1.1.1.1/", "http://1.1.1.1/"),
        ("a page", "https://example.org/a/a%20page"),
        ("../../../x", "https://example.org/x"),
    ],
)
def test_a_reference_is_taken_from_its_page(reference: str, leads_to: str) -> None:
    assert parse_url("https://example.org/a/b").join(reference).text == leads_to


@pytest.mark.parametrize(
    "reference", ["mailto:a@b.org", "http://a@b/", "/x\r\ny", "\\\\inner\\x", "http://[x", "http://127.1/"]
)
def test_a_reference_that_leads_to_no_page_is_refused(reference: str) -> None:
    with pytest.raises(InvalidInput):
        parse_url("https://example.org/").join(reference)


@pytest.mark.parametrize("text", ["https://me:hidden@example.org/", "https://me:hidden@[x/", "ftp://me:hi@dden@host/"])
def test_a_password_before_the_host_is_not_repeated(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_url(text)
    assert "hi" not in refused.value.message.partition(" is refused")[0]
