"""Forty-eight sentences of our own writing, each in English and in Chinese, of many kinds and on many topics.

What they have in common is what a model gives to every text, and what tells the two halves apart is language alone,
since each Chinese sentence says what its English one says. None of them is about a topic of `calibration_texts`.
"""

from __future__ import annotations

PARALLEL = (
    ("Good morning! Did you sleep well?", "早上好！你睡得好吗？"),
    ("I'm so tired today, work was endless.", "我今天好累，工作没完没了。"),
    ("Thanks, that really helped me.", "谢谢，这真的帮到我了。"),
    ("Haha, that's the funniest thing I've heard all week.", "哈哈，这是我这一周听到的最好笑的事。"),
    ("My brother called last night; he is moving to Canada.", "我哥哥昨晚打来电话，他要搬去加拿大了。"),
    ("We went hiking on Saturday and got completely soaked.", "我们星期六去爬山，全身都湿透了。"),
    ("Please answer briefly from now on.", "从现在起请回答得简短一些。"),
    ("I don't want to talk about my ex any more.", "我不想再谈我的前任了。"),
    ("Could you remind me to pay the electricity bill?", "你能提醒我交电费吗？"),
    ("The meeting has been moved from Tuesday to Friday.", "会议从星期二改到了星期五。"),
    ("Actually, I was wrong: his name is Daniel, not David.", "其实我说错了：他叫丹尼尔，不叫戴维。"),
    ("She has two daughters and a son who plays ice hockey.", "她有两个女儿，还有一个打冰球的儿子。"),
    ("I have started painting again; it calms me down.", "我又开始画画了，画画能让我平静下来。"),
    ("How do you feel about the new manager?", "你觉得新来的经理怎么样？"),
    ("What should we cook for dinner on Christmas Eve?", "平安夜我们晚饭做什么好？"),
    ("Who told you that the shop is going to close?", "谁告诉你那家店要关门的？"),
    ("Where can I exchange money near the station?", "车站附近哪里可以换钱？"),
    ("When did you last see the dentist?", "你上一次看牙医是什么时候？"),
    ("Why does the program crash when the list is empty?", "列表为空的时候程序为什么会崩溃？"),
    ("How many people came to the exhibition?", "有多少人来看了展览？"),
    ("Is it safe to mix these two medicines?", "这两种药一起吃安全吗？"),
    ("Which of the two offers did you accept?", "那两个录用通知你接受了哪一个？"),
    ("The river flooded the lower fields in spring.", "春天河水淹没了低处的田地。"),
    ("Copper conducts electricity better than iron.", "铜的导电性比铁好。"),
    ("The treaty was signed in 1648 and ended thirty years of war.", "条约于一六四八年签订，结束了三十年的战争。"),
    (
        "Bees find their way by the position of the sun and tell each other about flowers by dancing.",
        "蜜蜂靠太阳的位置辨认方向，用舞蹈告诉同伴花在哪里。",
    ),
    ("The minister resigned after the scandal.", "丑闻之后部长辞职了。"),
    ("Unemployment fell to five per cent in the third quarter.", "第三季度失业率降到了百分之五。"),
    ("The museum shows ceramics from the Bronze Age.", "博物馆展出青铜时代的陶器。"),
    (
        "Returns are accepted within fourteen days if the packaging is unopened.",
        "包装未拆的商品十四天之内可以退货。",
    ),
    (
        "Employees must report any security incident to the help desk without delay.",
        "员工发现任何安全事故必须立即向服务台报告。",
    ),
    (
        "Press and hold the power button for ten seconds to restart the device.",
        "长按电源键十秒即可重新启动设备。",
    ),
    (
        "The function returns a list of integers and raises an error when the file is missing.",
        "该函数返回一个整数列表，文件不存在时抛出错误。",
    ),
    (
        "Our method improves accuracy by three points over the baseline on both data sets.",
        "我们的方法在两个数据集上的准确率都比基线高三个点。",
    ),
    (
        "The old lighthouse keeper climbed the stairs every evening, lit the lamp and wrote one line in his book.",
        "老灯塔看守人每天傍晚爬上楼梯，点亮灯，在本子上写下一行字。",
    ),
    (
        "Once there lived a king who trusted nobody, not even the cook who tasted his soup.",
        "从前有一个国王，谁都不相信，连替他尝汤的厨子也不信。",
    ),
    ("The general led his soldiers across the mountain pass by night.", "将军连夜带兵翻过了山口。"),
    ("He bowed, put down his sword and asked for forgiveness.", "他躬身放下剑，请求宽恕。"),
    ("It rained for three days, and then the wind turned north.", "雨下了三天，后来风转向了北。"),
    ("The patient complains of headaches and blurred vision.", "病人说头痛，看东西模糊。"),
    ("Add two spoons of sugar and stir until it dissolves.", "加两勺糖，搅拌到溶化为止。"),
    ("Interest rates will probably stay high until next summer.", "利率可能会一直高到明年夏天。"),
    (
        "I joined a support group last month. Listening to the others gave me courage to tell my own story.",
        "我上个月参加了一个互助小组。听别人讲述，让我有勇气说出自己的故事。",
    ),
    (
        "We adopted a kitten in June, and since then nobody in this house has slept past six.",
        "我们六月领养了一只小猫，从那以后家里没有人能睡到六点以后。",
    ),
    (
        "That sounds lovely! I hope the trip gives you time to rest. Take many pictures for me.",
        "听起来真不错！希望这次旅行能让你好好休息。多替我拍些照片。",
    ),
    (
        "I understand. Losing someone you love takes time, and there is no right way to grieve.",
        "我明白。失去所爱的人需要时间，悲伤没有对错之分。",
    ),
    ("You said your office has no windows.", "你说过你的办公室没有窗户。"),
    ("Let me know when you arrive.", "到了告诉我一声。"),
)
