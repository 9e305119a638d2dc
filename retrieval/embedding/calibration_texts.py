"""Sixty topics of our own writing, each a question and a statement that answers it, no two topics alike.

The two texts of one topic are related; a question and the statement of another topic are unrelated. That gives
60 related and 3,540 unrelated pairs: English, Chinese, and across the two languages.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Topic:
    """A question and a statement that answers it."""

    question: str
    statement: str


ENGLISH = (
    Topic(
        "What breed is my neighbour's dog?",
        "The couple next door adopted a greyhound that used to run on a race track.",
    ),
    Topic(
        "How long should I boil an egg so the yolk stays soft?",
        "Six minutes in boiling water gives a set white and a runny yolk.",
    ),
    Topic(
        "When does the lease on the flat end?",
        "Our rental contract runs until the last day of September.",
    ),
    Topic(
        "Which instrument did Clara learn as a child?",
        "Clara took cello lessons from the age of seven.",
    ),
    Topic(
        "Why did the database migration fail?",
        "The schema change timed out because another transaction held a lock on the orders table.",
    ),
    Topic(
        "What did the doctor say about my knee?",
        "The scan shows a small tear in the meniscus, so no running for six weeks.",
    ),
    Topic(
        "Who won the chess tournament last weekend?",
        "Priya took first place on Sunday after drawing her final game.",
    ),
    Topic("How do I get wax out of a tablecloth?", "Put paper over the candle stain and press it with a warm iron."),
    Topic(
        "How far is the moon from the earth?",
        "On average 384,000 kilometres lie between our planet and its satellite.",
    ),
    Topic(
        "What is the budget for the office move?",
        "Finance has set aside forty thousand euros for relocating the team.",
    ),
    Topic(
        "Which novel is the book club reading next?",
        "For March the group has picked Middlemarch.",
    ),
    Topic(
        "Is Tom allergic to anything?",
        "Tom breaks out in hives whenever he eats shellfish.",
    ),
    Topic(
        "What should I plant in a shady corner of the garden?",
        "Ferns and hostas thrive where there is hardly any sun.",
    ),
    Topic("Where did we park at the airport?", "The car is on level three of the long-stay garage, row F."),
    Topic(
        "What caused the fall of the Western Roman Empire?",
        "Civil wars, lost tax revenue and invasions wore Rome down in the fifth century.",
    ),
    Topic(
        "How often does the baby wake up at night?",
        "Our daughter sleeps about four hours at a stretch and then wants milk.",
    ),
    Topic(
        "Which camera lens is best for portraits?",
        "An 85 mm prime with a wide aperture flatters faces and blurs the background.",
    ),
    Topic(
        "Did Marcus get the job at the shipyard?",
        "Marcus starts as a welder in the harbour on Monday.",
    ),
    Topic(
        "What is the wifi password at the cabin?",
        "To get online in the hut, type pinecone followed by the year it was built.",
    ),
    Topic(
        "How are black holes detected?",
        "Astronomers watch stars orbit something unseen, and listen for gravitational waves.",
    ),
    Topic(
        "What colour did we choose for the bedroom walls?",
        "In the end we painted the room where we sleep a pale sage green.",
    ),
    Topic("Why is the train to Leeds late?", "A signal failure near Wakefield is delaying northbound services."),
    Topic(
        "How much protein does an adult need?",
        "Grown-ups should eat roughly 0.8 grams of it per kilogram of body weight a day.",
    ),
    Topic(
        "What present would my sister like for her wedding?",
        "Ellen has put a cast-iron casserole at the top of her gift list for the marriage.",
    ),
)

CHINESE = (
    Topic("我奶奶是哪一年出生的？", "祖母生于一九三八年的冬天。"),
    Topic("怎么给仙人掌浇水？", "沙漠植物夏天两周浇一次就够，冬天几乎不用浇。"),
    Topic("下周去北京的高铁是几点？", "周二上午九点零五分有一班开往首都的列车。"),
    Topic("小王为什么辞职？", "王明觉得加班太多，月底就离开了公司。"),
    Topic("红烧肉要炖多长时间？", "五花肉小火慢煨一个半小时才会软烂。"),
    Topic("唐朝的都城在哪里？", "李渊建国之后定都长安。"),
    Topic("孩子的钢琴课改到什么时候了？", "老师说以后每周四傍晚练琴。"),
    Topic("我的护照什么时候过期？", "出国用的证件有效期到后年五月。"),
    Topic("这款手机的电池能用多久？", "正常使用的话，充满一次电可以撑两天。"),
    Topic("台风会影响上海吗？", "气象台预报，强风暴雨周五夜里将登陆长三角。"),
    Topic("爸爸的血压怎么样？", "父亲今早量的高压是一百四十五，医生让他少吃盐。"),
    Topic("怎样才能学好书法？", "每天临帖一个小时，先写楷书，再写行书。"),
    Topic("公司年会定在哪家酒店？", "今年的庆祝晚宴在湖滨饭店三楼举行。"),
    Topic("光合作用需要什么条件？", "植物在阳光下用水和二氧化碳制造养分。"),
    Topic("阿杰最喜欢哪支足球队？", "他从小就是利物浦的球迷。"),
    Topic("装修房子花了多少钱？", "翻新厨房和卫生间一共用了十二万。"),
    Topic("《红楼梦》的作者是谁？", "这部小说一般认为是曹雪芹写的。"),
    Topic("猫为什么不吃东西？", "兽医检查后发现它牙龈发炎，疼得咬不动猫粮。"),
    Topic("去西藏旅行要注意什么？", "高原缺氧，头两天不要剧烈运动，也别洗澡。"),
    Topic("那份合同是谁签的字？", "协议最后由副总经理陈岚签署。"),
    Topic("为什么夏天蚊子特别多？", "气温高、积水多的时候，这种昆虫繁殖得最快。"),
    Topic("他们俩是怎么认识的？", "两个人是在大学的合唱团里第一次见面的。"),
    Topic("股票跌了这么多该怎么办？", "顾问建议分散投资，不要在低点恐慌抛售。"),
    Topic("我的眼镜度数是多少？", "验光单上写着左眼三百五十度，右眼四百度。"),
)

MIXED = (
    Topic("How do I fix a puncture on my bicycle?", "自行车爆胎时，先找到内胎的破洞，打磨之后贴上补片。"),
    Topic("What time does the library close on Saturdays?", "图书馆周六下午五点关门。"),
    Topic("Which tea did Lin bring back from Hangzhou?", "林姐从杭州带回来的是明前龙井。"),
    Topic("Why do leaves turn red in autumn?", "秋天叶绿素分解，花青素让枫叶变红。"),
    Topic("Where are the spare keys of the car?", "备用车钥匙放在玄关的蓝色碗里。"),
    Topic("How do vaccines work?", "疫苗让免疫系统提前认识病毒，从而产生抗体。"),
    Topic("我们的服务器用的是什么操作系统？", "Every machine in our rack runs Debian 12, with unattended upgrades."),
    Topic("马拉松世界纪录是多少？", "The fastest official marathon was run in a little over two hours in Chicago."),
    Topic("妹妹在哪个城市读研究生？", "My younger sister is doing her master's degree in Edinburgh."),
    Topic("地震的时候应该躲在哪里？", "During an earthquake, drop, take cover under a sturdy table and hold on."),
    Topic("咖啡喝多了有什么坏处？", "Too much caffeine causes insomnia, a racing heart and anxiety."),
    Topic("他的论文被哪个会议接收了？", "The paper on sparse attention was accepted at NeurIPS as a poster."),
)

TOPICS = ENGLISH + CHINESE + MIXED
