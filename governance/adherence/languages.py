"""In which language a text is, for asking whether a reply keeps to one. By py3langid's trained model, offline.

A text that is too short or too mixed has no clear language: None, never a guess.
"""

from __future__ import annotations

import re
from functools import cache

from py3langid.langid import MODEL_FILE, LanguageIdentifier

from governance.adherence.measure import prose

# Names by which instructions call languages, by ISO 639-1 code. The identifier chooses among these.
NAMES: dict[str, tuple[str, ...]] = {
    "ar": ("arabic", "阿拉伯语", "阿拉伯文"),
    "bg": ("bulgarian", "保加利亚语"),
    "bn": ("bengali", "bangla", "孟加拉语"),
    "ca": ("catalan", "加泰罗尼亚语"),
    "cs": ("czech", "捷克语"),
    "da": ("danish", "丹麦语"),
    "de": ("german", "deutsch", "德语", "德文"),
    "el": ("greek", "希腊语", "希腊文"),
    "en": ("english", "英语", "英文"),
    "es": ("spanish", "español", "西班牙语", "西班牙文"),
    "et": ("estonian", "爱沙尼亚语"),
    "fa": ("persian", "farsi", "波斯语"),
    "fi": ("finnish", "芬兰语"),
    "fr": ("french", "français", "法语", "法文"),
    "gu": ("gujarati", "古吉拉特语"),
    "he": ("hebrew", "希伯来语"),
    "hi": ("hindi", "印地语"),
    "hr": ("croatian", "克罗地亚语"),
    "hu": ("hungarian", "匈牙利语"),
    "id": ("indonesian", "印尼语", "印度尼西亚语"),
    "it": ("italian", "italiano", "意大利语", "意大利文"),
    "ja": ("japanese", "日语", "日文"),
    "kn": ("kannada", "卡纳达语"),
    "ko": ("korean", "韩语", "韩文", "朝鲜语"),
    "la": ("latin", "拉丁语", "拉丁文"),
    "lt": ("lithuanian", "立陶宛语"),
    "lv": ("latvian", "拉脱维亚语"),
    "mr": ("marathi", "马拉地语"),
    "ne": ("nepali", "尼泊尔语"),
    "nl": ("dutch", "荷兰语", "荷兰文"),
    "no": ("norwegian", "挪威语"),
    "pa": ("punjabi", "旁遮普语"),
    "pl": ("polish", "波兰语"),
    "pt": ("portuguese", "葡萄牙语", "葡萄牙文"),
    "ro": ("romanian", "罗马尼亚语"),
    "ru": ("russian", "俄语", "俄文"),
    "sk": ("slovak", "斯洛伐克语"),
    "sv": ("swedish", "瑞典语"),
    "sw": ("swahili", "斯瓦希里语"),
    "ta": ("tamil", "泰米尔语"),
    "te": ("telugu", "泰卢固语"),
    "th": ("thai", "泰语", "泰文"),
    "tl": ("tagalog", "filipino", "菲律宾语", "他加禄语"),
    "tr": ("turkish", "土耳其语"),
    "uk": ("ukrainian", "乌克兰语"),
    "ur": ("urdu", "乌尔都语"),
    "vi": ("vietnamese", "越南语", "越南文"),
    "zh": ("chinese", "mandarin", "中文", "汉语", "普通话", "华语", "国语"),
}
CODES: dict[str, str] = {name: code for code, names in NAMES.items() for name in names}
# For patterns: any of the names, the longest first.
ANY_NAME = "|".join(sorted(map(re.escape, CODES), key=len, reverse=True))

# Below this probability the first guess counts for nothing.
_SURE = 0.6
_LETTER = re.compile(r"[^\W\d_]")


def language_of(text: str) -> tuple[str, bool] | None:
    """The likeliest language of a text, and whether that is sure. None for a text without letters."""
    spoken = prose(text)
    if len(_LETTER.findall(spoken)) < 2:
        return None
    code, probability = _identifier().classify(spoken)
    return code, float(probability) >= _SURE


@cache
def _identifier() -> LanguageIdentifier:
    # An instance of its own: the package's functions share one whose languages anybody can change.
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages([code for code in NAMES if code in identifier.labels])
    return identifier
