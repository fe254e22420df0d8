"""URLs: parsing as browsers do it, resolving of relative links, and the canonical form of an
address. The canonical form leaves out query parameters that
do not belong to it, such as session ids."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING
from urllib.parse import quote

from w3lib.url import safe_url_string

from crawlmgr.web.http.guard import HostError, parse_host

_SESSION_NAMES = frozenset(
    {
        "phpsessid",
        "phpsession",
        "jsessionid",
        "sessionid",
        "session_id",
        "sessid",
        "oscsid",
        "zenid",
        "xtcsid",
        "osadminid",
        "cfid",
        "cftoken",
        "aspsessionid",
        "asp.net_sessionid",
    }
)
# Names of parameters that are dropped only if their value looks like a session id or is empty.
_MAYBE_SESSION_NAMES = frozenset({"sid", "s", "session", "sess", "ses"})
# values for which a parameter in _MAYBE_SESSION_NAMES is dropped: 32, 40 or 64 hexadecimal digits,
# or the empty value
_SESSION_VALUE = re.compile(r"(?:[0-9a-fA-F]{32}|[0-9a-fA-F]{40}|[0-9a-fA-F]{64})?")
# further values for which a parameter named "sid" is dropped: session ids as PHP makes them
_PHP_SESSION = re.compile(r"(?=\D*\d)[0-9a-zA-Z,-]{22,}")
_TRACKING_NAMES = frozenset(
    {
        "fbclid",
        "gclid",
        "gclsrc",
        "dclid",
        "gbraid",
        "wbraid",
        "msclkid",
        "yclid",
        "ymclid",
        "twclid",
        "ttclid",
        "li_fat_id",
        "igshid",
        "igsh",
        "mc_cid",
        "mc_eid",
        "mkt_tok",
        "_ga",
        "_gl",
        "_hsenc",
        "_hsmi",
        "__hssc",
        "__hstc",
        "__hsfp",
        "hsctatracking",
        "vero_id",
        "vero_conv",
        "oly_anon_id",
        "oly_enc_id",
        "wickedid",
        "_openstat",
        "spm",
        "scm",
        "_branch_match_id",
    }
)
_TRACKING_PREFIXES = ("utm_", "pk_", "mtm_", "hsa_")


@dataclass(frozen=True, slots=True)
class UrlRules:
    """Rules for canonical addresses. `strip_sessions` and `strip_tracking` drop query parameters
    whose names are known for session ids and tracking."""

    keep_fragment: bool = False
    sort_query: bool = True
    strip_sessions: bool = True
    strip_tracking: bool = True


@lru_cache(maxsize=4096)
def _parameter_action(name: str, rules: UrlRules) -> str:
    """Returns what the rules say about a query parameter of this name: "keep", "drop", or "session"
    (dropped only if its value looks like a session id)."""
    name = name.lower()
    if rules.strip_sessions and (name in _SESSION_NAMES or name.startswith("aspsessionid")):
        return "drop"
    if rules.strip_tracking and (name in _TRACKING_NAMES or name.startswith(_TRACKING_PREFIXES)):
        return "drop"
    return "session" if rules.strip_sessions and name in _MAYBE_SESSION_NAMES else "keep"


def keeps(parameter: str, rules: UrlRules) -> bool:
    """Tells whether a query parameter ("name=value") is kept in canonical addresses; False for an
    empty one."""
    if not parameter:
        return False
    name, _, value = parameter.partition("=")
    action = _parameter_action(name, rules)
    if action != "session":
        return action == "keep"
    told = name.lower() == "sid" and _PHP_SESSION.fullmatch(value)
    return not (told or _SESSION_VALUE.fullmatch(value))


if TYPE_CHECKING:
    from tldextract import TLDExtract

_DEFAULT_PORTS = {"http": 80, "https": 443}
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.\-]*):")
_EDGES = "".join(map(chr, range(0x21)))  # C0 controls and space, stripped at both ends
_INNER_OR_BACKSLASH = re.compile(r"[\x00-\x20\\]")
_INNER = {
    ord(char): None for char in "\t\n\r"
}  # translation table that removes tabs and line breaks
_QUERY_SAFE = "/:@!$&()*+,;=-._~%[]|\\?{}^`"
_SAFE = re.compile(
    r"[A-Za-z0-9/:@!$&()*+,;=._~?-]*"
)  # characters that are never escaped in a path or query
# Percent-escapes, except after "%" or "%" and a hex digit: unescaping "%%34%31" would make a new
# escape, "%41".
_PERCENT = re.compile(r"(?<!%)(?<!%[0-9a-fA-F])%([0-9a-fA-F]{2})")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_DOT_SEGMENT = re.compile(r"(?:^|/)(?:\.|%2[eE]){1,2}(?:/|$)")
# Addresses that are already canonical, as most links are: nothing to lower-case, decode, sort,
# resolve or strip.
_PLAIN = re.compile(
    r"https?://(?=[^/:]{1,253}[/:])(?:[a-z0-9_-]{1,63}\.)*[a-z][a-z0-9-]{0,62}(?::(?!80/"
    r"|443/)[1-9][0-9]{0,3}|:[1-5][0-9]{4})?/"
    r"(?:[A-Za-z0-9_~!$'*+,=:@-]|\.(?!\.?(?:/|$))|/(?!\.{1,2}(?:/|$)))*"
)

_PATH_SESSION = re.compile(r";(?:jsessionid|phpsessid|sessionid|sid)=[^/;?#]*", re.IGNORECASE)
_ASP_SESSION = re.compile(r"/\([A-Z]\([a-z0-9]{8,}\)\)(?=/|$)", re.IGNORECASE)


class UrlError(ValueError):
    """The address is not http or https, or no browser would open it."""


@dataclass(frozen=True, slots=True)
class UrlParts:
    """A parsed address. `host` is canonical (see `parse_host`), `port` is None for the scheme's
    default, `userinfo` is "user:password" or ""."""

    scheme: str
    host: str
    port: int | None
    path: str
    query: str | None = None
    fragment: str | None = None
    userinfo: str = ""

    @property
    def authority(self) -> str:
        """The host, or host:port if the port is not the scheme's default."""
        return self.host if self.port is None else f"{self.host}:{self.port}"

    @property
    def effective_port(self) -> int:
        """The port to connect to: the address's own or the scheme's default."""
        return self.port or _DEFAULT_PORTS[self.scheme]

    def unsplit(self) -> str:
        """Returns the address as text, without user and password."""
        query = "" if self.query is None else f"?{self.query}"
        fragment = "" if self.fragment is None else f"#{self.fragment}"
        return f"{self.scheme}://{self.authority}{self.path}{query}{fragment}"


DEFAULT_RULES = UrlRules()


def parse(url: str) -> UrlParts:
    """Parses an absolute http(s) address as the URL standard does: spaces and control characters at
    both ends are removed, backslashes in front of the query are read as slashes, hosts are accepted
    in all spellings that browsers know.

    The path keeps its dot segments and percent-escapes. Raises UrlError for any other address.
    """
    text = url.strip(_EDGES)
    if "\n" in text or "\t" in text or "\r" in text:
        text = text.translate(_INNER)
    found = _SCHEME.match(text)
    scheme = found.group(1).lower() if found else ""
    if found is None or scheme not in _DEFAULT_PORTS:
        raise UrlError(f"not an http or https address: {url[:200]!r}")
    rest, hash_mark, fragment = text[found.end() :].partition("#")
    rest, query_mark, query = rest.partition("?")
    if "\\" in rest:
        rest = rest.replace("\\", "/")
    authority, slash, path = rest.lstrip("/").partition("/")
    userinfo, _, hostport = authority.rpartition("@")
    host, port = _split_port(hostport, url)
    try:
        host = parse_host(host)
    except HostError as error:
        raise UrlError(str(error)) from error
    port = None if port == _DEFAULT_PORTS[scheme] else port
    asked, part = query if query_mark else None, fragment if hash_mark else None
    return UrlParts(scheme, host, port, slash + path or "/", asked, part, userinfo)


def _split_port(hostport: str, url: str) -> tuple[str, int | None]:
    """Splits "host:port" into host and port (None if missing). Raises UrlError for an invalid port,
    with the whole `url` in the message."""
    end = hostport.rfind("]")
    colon = hostport.find(":", end + 1)
    if colon < 0:
        return hostport, None
    digits = hostport[colon + 1 :]
    if not digits:
        return hostport[:colon], None
    if (
        not (digits.isascii() and digits.isdigit())
        or int(digits[:10]) > 65535
        or int(digits[:10]) == 0
    ):
        raise UrlError(f"not a port: {url[:200]!r}")
    return hostport[:colon], int(digits[:10])


def _resolve_dots(path: str) -> str:
    """Returns the path with its dot segments resolved, also percent-encoded ones; ".." at the root
    is ignored."""
    if not _DOT_SEGMENT.search(path):
        return path
    kept: list[str] = []
    segments = path.split("/")[1:]
    for place, segment in enumerate(segments):
        plain = segment.replace("%2e", ".").replace("%2E", ".")
        last = place == len(segments) - 1
        if plain == "..":
            if kept:
                kept.pop()
            if last:
                kept.append("")
        elif plain == ".":
            if last:
                kept.append("")
        else:
            kept.append(segment)
    return "/" + "/".join(kept)


def _fix_escape(found: re.Match[str]) -> str:
    """Returns one percent-escape in canonical form: the bare character if it may stand unescaped,
    otherwise upper-case digits."""
    char = chr(int(found.group(1), 16))
    return char if char in _UNRESERVED else found.group().upper()


def _normalise(text: str) -> str:
    """Returns the text with its percent-escapes in canonical form: unreserved characters unescaped,
    digits in upper case."""
    return _PERCENT.sub(_fix_escape, text) if "%" in text else text


_ANY_ORIGIN = "http://h"


def _escaped(prefix: str, rest: str) -> str:
    """Returns `prefix` followed by `rest`, a path and query in which all characters are escaped
    that the standard requires; existing escapes are kept. `prefix` (an origin) is not changed."""
    if _SAFE.fullmatch(rest):
        return prefix + rest
    text = rest.encode(
        "utf-8", "replace"
    ).decode()  # replaces lone surrogates, which cannot be encoded
    return prefix + safe_url_string(_ANY_ORIGIN + text)[len(_ANY_ORIGIN) :]


# Form of most links (absolute, beginning with "/", or relative), in which nothing needs to be
# escaped or resolved.
_EASY_HREF = re.compile(
    r"(?:(?P<whole>https?://(?:[a-z0-9_-]+\.)*[a-z][a-z0-9-]*(?::(?!80/|443/)[1-9][0-9]{0,3}"
    r"|:[1-5][0-9]{4})?(?=/))|(?P<rooted>(?=/))"
    r"|(?:\./)?(?P<near>[A-Za-z0-9_~-](?:[!$-,;=@_~A-Za-z0-9.-])*))"
    r"(?:/(?![./\\%])[!\"$-.0-\[\]-~]*)*(?:[?#][!-~]*)?"
)


class Resolver:
    """Makes the links of one page absolute; parses the base address only once.

    `base` is the address that links are relative to. `encoding` is that of the page: as in
    browsers, non-ASCII characters of a query are encoded with it (those of the path with UTF-8).
    Raises UrlError if `base` is not an http(s) address.
    """

    __slots__ = ("_directory", "_encoding", "_origin", "_path", "_prefix", "_query", "base")

    def __init__(self, base: str, encoding: str = "utf-8") -> None:
        parts = parse(base)
        self.base = base
        self._prefix = parts.scheme + ":"
        self._origin = f"{parts.scheme}://{parts.authority}"
        self._path = _resolve_dots(parts.path)
        self._directory = self._path[: self._path.rfind("/") + 1]
        self._query = "" if parts.query is None else "?" + parts.query
        self._encoding = encoding

    def absolute(self, href: str) -> str | None:
        """Returns the absolute address of `href`, a link on the page, with its fragment; None if it
        is not an http(s) address."""
        easy = _EASY_HREF.fullmatch(href)
        if easy is not None:
            kind = easy.lastgroup
            if kind == "whole":
                return href
            return (
                self._origin + href
                if kind == "rooted"
                else self._origin + self._directory + href.removeprefix("./")
            )
        return self._resolve(href)

    def _resolve(self, href: str) -> str | None:
        """Resolves any link; `absolute` calls it for links that are not simple enough for its own
        shortcut."""
        href = href.strip(_EDGES)
        if "\n" in href or "\t" in href or "\r" in href:
            href = href.translate(_INNER)
        first = href[:1]
        if not first:
            return self._origin + self._path + self._query
        if first == "#":
            return self._origin + self._path + self._query + href
        if first not in "/?\\.":
            found = _SCHEME.match(href)
            if found is not None:
                return self._with_scheme(href, found.group(1).lower(), href[found.end() :])
        path, hash_mark, fragment = href.partition("#")
        path, query_mark, query = path.partition("?")
        if "\\" in path:
            path = path.replace("\\", "/")
        if path.startswith("//"):
            return self._parsed(self._prefix + href)
        if not path:
            path = self._path
        elif path[0] != "/":
            path = self._directory + path
        if "." in path or "%2" in path:
            path = _resolve_dots(path)
        return (
            self._origin
            + path.replace(" ", "%20")
            + query_mark
            + self._quoted(query)
            + hash_mark
            + fragment
        )

    def _with_scheme(self, href: str, scheme: str, rest: str) -> str | None:
        """Resolves an address that names its scheme; `rest` is the part after the colon. As in
        browsers, an address with the page's own scheme and no slash after it ("http:b.html") is
        relative."""
        if scheme not in _DEFAULT_PORTS:
            return None
        if rest[:1] in ("/", "\\") or scheme + ":" != self._prefix:
            return self._parsed(href)
        return self._resolve("./" + rest) if rest[:1] not in ("?", "#", "") else self._resolve(rest)

    def _quoted(self, query: str) -> str:
        """Returns a query with non-ASCII characters escaped in the page's encoding, and spaces
        escaped."""
        if not query.isascii():
            query = quote(
                query, safe=_QUERY_SAFE, encoding=self._encoding, errors="xmlcharrefreplace"
            )
        return query.replace(" ", "%20")

    def _parsed(self, url: str) -> str | None:
        """Returns the absolute address `url` with canonical host and resolved dot segments; None if
        it cannot be parsed."""
        try:
            parts = parse(url)
        except UrlError:
            return None
        path, query = (
            _resolve_dots(parts.path).replace(" ", "%20"),
            parts.query and self._quoted(parts.query),
        )
        return UrlParts(parts.scheme, parts.host, parts.port, path, query, parts.fragment).unsplit()


@lru_cache(maxsize=256)
def _resolver(base: str) -> Resolver:
    return Resolver(base)


def absolute(href: str, base: str) -> str | None:
    """Returns the absolute address of a link on the page `base`; None for mailto:, javascript:,
    malformed links and the like.

    Raises UrlError if `base` itself is not an http(s) address.

    >>> absolute("../t.php?id=3#p7", "http://forum.example/a/b/")
    'http://forum.example/a/t.php?id=3#p7'
    """
    return _resolver(base).absolute(href)


def _canonical_query(query: str, rules: UrlRules) -> str:
    """Returns a query with session and tracking parameters removed, and, if the rules say so,
    sorted by parameter name; parameters of equal name keep their order.

    A first parameter without "=" is a path ("?threads/name.123/&page=2") and stays first.
    """
    kept: list[str] = []
    for parameter in query.split("&"):
        if (
            ";" in parameter
        ):  # the forum software SMF and old Perl forums separate parameters with semicolons
            parameter = ";".join(part for part in parameter.split(";") if keeps(part, rules))
            if parameter:
                kept.append(parameter)
        elif keeps(parameter, rules):
            kept.append(parameter)
    if rules.sort_query and len(kept) > 1:
        route = [] if "=" in kept[0] else [kept[0]]
        kept = route + sorted(kept[len(route) :], key=_parameter_name)
    return "&".join(kept)


def _parameter_name(parameter: str) -> str:
    return parameter.partition("=")[0]


def canonical(url: str, rules: UrlRules = DEFAULT_RULES) -> str:
    """Returns the canonical form of an address, under which a page is stored and requested again.

    Scheme and host are lower-case, international names in punycode, IPv4 addresses in dotted
    decimal. Default port, user and fragment are dropped, dot segments resolved, percent-escapes
    normalised, session ids and tracking parameters removed, and the query is sorted by parameter
    name. `rules` can keep the fragment, keep or drop further parameters, and leave the query
    unsorted. The canonical form of a canonical address is itself. Raises UrlError if the address is
    invalid.

    >>> session = "0123456789abcdef0123456789abcdef"
    >>> canonical(f"HTTP://Forum.Example:80/a/../viewtopic.php?t=5&sid={session}#p9")
    'http://forum.example/viewtopic.php?t=5'
    """
    if _PLAIN.fullmatch(url):
        return url
    return _canonical_by_default(url) if rules is DEFAULT_RULES else _canonical(url, rules)


@lru_cache(maxsize=65536)
def _canonical_by_default(url: str) -> str:
    return _canonical(url, DEFAULT_RULES)


@lru_cache(maxsize=16384)
def _canonical(url: str, rules: UrlRules) -> str:
    prefix, path, query, fragment = _pieces(url)
    # normalised first, because the rules apply to the normalised spelling
    path, _, query = _normalise(_escaped("", f"{path}?{query}" if query else path)).partition("?")
    if rules.strip_sessions:
        if ";" in path:
            path = _PATH_SESSION.sub("", path)
        if "/(" in path:
            path = _ASP_SESSION.sub("", path) or "/"
    path = _resolve_dots(path)
    query = _canonical_query(query, rules) if query else ""
    if query:
        path = f"{path}?{query}"
    if fragment and rules.keep_fragment:
        path = f"{path}#{_normalise(fragment)}"
        return _escaped(prefix, path)
    return prefix + path


_SESSIONS_ONLY = UrlRules(keep_fragment=True, sort_query=False, strip_tracking=False)
_MAY_HOLD_SESSION = re.compile(
    r"[?&;](?:[\w.]*(?:sid|sess(?:ion)?(?:_?id)?)|ses|s|zenid|cfid|cftoken)=|/\([a-z]\(", re.I
)


def without_session(url: str) -> str:
    """Returns an address without its session id, otherwise as a page shows it; an invalid one is
    returned unchanged.

    >>> without_session("http://a.org/t.php?p=7&sid=0123456789abcdef0123456789abcdef#p7")
    'http://a.org/t.php?p=7#p7'
    """
    if not _MAY_HOLD_SESSION.search(url):
        return url
    try:
        return canonical(url, _SESSIONS_ONLY)
    except UrlError:
        return url


def _pieces(url: str) -> tuple[str, str, str, str]:
    """Returns (origin, path, query, fragment) of an address; query and fragment are given without
    "?" and "#", and are "" if missing. Raises UrlError if the address is invalid."""
    if _INNER_OR_BACKSLASH.search(url) is None and url.startswith(("http://", "https://")):
        start = url.index("//") + 2
        end = url.find("/", start)
        if end > start and "?" not in url[8:end] and "#" not in url[8:end]:
            rest, _, fragment = url[end:].partition("#")
            path, _, query = rest.partition("?")
            return _origin_of(url[:end]), path, query, fragment
    parts = parse(url)
    return (
        f"{parts.scheme}://{parts.authority}",
        parts.path,
        parts.query or "",
        parts.fragment or "",
    )


def fetchable(url: str) -> str:
    """Returns an address as a browser would send it: canonical host, unsafe characters escaped, no
    user, no fragment. Unlike `canonical` it keeps all parameters, their order and existing escapes.
    Raises UrlError if the address is invalid.
    """
    if _PLAIN.fullmatch(url):
        return url
    prefix, path, query, _ = _pieces(url)
    path = _resolve_dots(path)
    return _escaped(prefix, f"{path}?{query}" if query else path)


def url_hash(url: str) -> int:
    """Returns the 64-bit BLAKE2b hash of an address as a signed integer, by which the database
    finds it."""
    return int.from_bytes(
        blake2b(url.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big", signed=True
    )


@lru_cache(maxsize=4096)
def _origin_of(url: str) -> str:
    parts = parse(url)
    return f"{parts.scheme}://{parts.authority}"


def origin(url: str) -> str:
    """Returns scheme://host[:port] of an address; the port is left out if it is the scheme's
    default. Raises UrlError if the address is invalid."""
    return _pieces(url)[0]


def host_key(url: str) -> str:
    """Returns the key of an address's host, the unit of politeness: "host", or "host:port" if the
    port is not the scheme's default. Raises UrlError if the address is invalid."""
    return _pieces(url)[0].partition("://")[2]


@lru_cache(maxsize=1)
def _extract() -> TLDExtract:
    # imported on first use: it takes up to half a second, and few processes need domains
    import tldextract

    # uses the public suffix list in the package, without network access
    return tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)


@lru_cache(maxsize=8192)
def registered_domain(host: str) -> str:
    """Returns the registered domain of a host ("news.example.co.uk:81" -> "example.co.uk"); the
    host without port if it has none."""
    name = host.rsplit(":", 1)[0] if not host.endswith("]") and host.count(":") == 1 else host
    return _extract()(name).top_domain_under_public_suffix or name
