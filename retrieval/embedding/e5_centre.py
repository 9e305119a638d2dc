"""The centre of multilingual-e5-small, as `measure_centre` gives it; a test measures it again.

Kept rather than measured at every start, so that all machines and both engines share one map.
"""

from __future__ import annotations

# By the name of the weights; the value is what `Centre.to_text` writes.
KNOWN_CENTRES: dict[str, str] = {
    "multilingual-e5-small-4e8ba61f": (
        "+SpsoGenz6rDLHimUaAQJH4shCTuKZ0XciwdpLSreScILPOoeak6qxgnlB+BqVUqMSvXK/yoRSifKWetHaptqQYpDKsSK3Qobap3"
        "qxEqJ6p1pgMmiykqLTEqNyrBqikqFavqpU2oWiqjIDwroiO8q7aqtKwPrc0qVCycnHEhZCQJLagqnCoGKseoQ6BlqfEqLx18qFoh"
        "uCRKKRKqRiX+qLirjKkUqX0neqopK4cqmKtoK62f9iqGKoeoEqoHrMypW6oMKVcrqqcCLGio2h59rJCpCymeKlerIirWqpOpUykV"
        "KGIpaawPqeKmP6kBKYyqviiVqWqpEaSeq0Co9CgeKJceaxBcKXUliRazJpwnkC1sqVseeaH8pjGpwypBqdIp3ilBKswr3KjALFuq"
        "tCUUqFUqJidtKVGpZKunqlQp0Sl5qr+ri6xmpLWsA6rUKRYsIqyKoCunPCbKqEomNxjcKiOo0CQMLTkpHKNIpxSqKKn9qeqoJKkV"
        "J74oRKF8pKopwKm6q6+pfyVSq7UqNioDKUEfY6nYJ2EnhinOojGsLCl8qIApESrGrGqsPStbq5Ga3SKmKl2pCiK7KduiIihArR+p"
        "jCqKKnSpAarFKAip7Kadq3+sQ6oOrJwcfyjnKl2r0KBOqrQlU6xhK3eoWKlkJpSfbSnPKm2rSqnZrOCnYCk6LLMscKmgJzsmAqHt"
        "LIAqxyvCKGismaQRrFCl/Ks/JxwrL6zCqyCnWSloLeWosqiuKbUp2STNKYEqoqVSpIIqPKmpp2ygtairKW2oSyo2JjoU5Su4q/Eo"
        "9qdEqWcoXiTbrVYoXyN/J2Ik7CnHLFkqSap9pqgm8ylcnSQkz6ZPqreqMKmKpKuqOCj/KD6qSKkMLGUobiTMpeypxCmHqgykNqmm"
        "KjCrvqvEJoUr6KfMKgSoTKyOKeGkzqd6Jh4pBq3FIIEqUqf4KBCqD6pGKb4pYqxipBQqMipjK0QpnJ44iV0oLKwLK8cprKrTFEum"
        "casWqpgqYKlHq5YoSixAKDArcikvpKujZifZJ3MtWKHYJyMpp6o0qmes6SsDLEOrgKTdokSppy2LHbAoyShbqkCkEipCrh6s/Sga"
        "JIknEyjyHmEmzSeGK9YoASeyHKWq1qj+I4Kk4CT8KYSl5ypQJTkp5q36GKMoOqjtKtqg26y0oE4trqmqqDEtIylOLhUg5x5XK5Sp"
        "VSqooIootSJeLeEsEicrpWQbSK8hKxAovyrKqhCuP5k1J/WlFqoTrNufhh9Vp98sZqBFK0ItgqH2qPukSShiptGhWy2YI4emErCT"
        "JeKqvyxOLKikgawDInMczSaRpkUmZKhdpOEsnK3JK96rda1Dp6YqGi3spXSu9SoyIB2wt6XZqisgxxizqTyqAqpCnIoqJqjWqSMq"
        "M6QVp22n/aNdqfSeBqwcqaGlIqn9rY4pLirXKLqbJi7lHp8jFaVoqIGr8aRRqc2oY67Bqr8c7CfwKuItbSlJEZCqthc6KSQrS6+o"
        "LK4pUCW1HwWopCX3I6soHSrZpdWgPiy9JC0q7qrJKTqPA65RirggpqhMKcUgn6wZrR+iI5zgqZKr/6i/qAOkI6u3Jbyjwh0HrZgq"
        "sqcmJDklsaj8qwIkSKwAqTwuuyhSrMokwaQmqMepBSqUKHupJapMrycppokEI/urHjB0rJOt8iJXLFqqqBshLG+hUyTRn6SgMKGH"
        "qYooARxBKUsqGCVsIiaheiQ6J7UoWykLrJYmJison+oomCvlqmAw/KRJJ8ChHy3wLaqr1CAkKHcdZKSXqP4iRaofplGpeSk8Kdol"
        "+DB6nrepeKZsqEOmzZv6sEeic6qDLbMivK2srX8sBh6GrywodyrgLQQpZCfBqPGtq6x1Klgk6CC+LUAgaSuCqX4PUipYrC2qXaLi"
        "LMkoI6lLJFMg7JyqJj6sra4mpDSoSig6JpwwDy5CJoCiWiJhrsEnbSh+Kc6uvixConArFieCHtIQfJb9KkcnpKr1qRwoZZt5KDGr"
        "pi0QqeIr7apcKAun9KtJqBysbSHXr56llSgpJQ+nvR2WImYh"
    ),
}
