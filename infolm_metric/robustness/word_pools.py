"""The words that attacks put in: chosen by hand, common, and no two of them synonyms.

The verbs are transitive, and their past tense is their participle, so that either can be replaced.
"""

from __future__ import annotations

from infolm_metric.robustness.words import listed

NOUNS = listed(
    """
    goat whale spider parrot frog horse wolf turtle rabbit bee eagle camel monkey snake
    tiger lamp pillow mirror carpet ladder bucket candle curtain drawer fork spoon kettle
    chimney staircase balcony hammer needle rope umbrella wallet suitcase bottle basket
    envelope pencil microscope compass clock whistle magnet carrot lemon sandwich onion cake
    potato mushroom biscuit peach banana sausage pumpkin walnut pancake tomato jacket glove
    scarf sock hat boot necklace belt apron ribbon castle barn tunnel bakery prison stadium
    lighthouse windmill greenhouse cinema volcano glacier meadow desert waterfall cave swamp
    island pebble cloud bicycle canoe tractor helicopter wagon submarine sled rocket
    ambulance balloon dentist farmer pirate violinist nurse butcher sailor widow poet judge
    plumber magician spy orphan tailor waiter shepherd wrestler librarian detective drum
    violin statue poem flute rumor secret dream quarrel recipe lottery funeral holiday
    riddle promise elbow thumb beard knee tooth coin flag puppet kite fence ticket stamp
    trophy battery antenna
    """
)
VERBS = listed(
    """
    paint bake bury polish borrow chase measure rent insult photograph kick iron decorate
    kiss wash burn rob lock repair praise punish rescue translate memorize tickle scratch
    squeeze stretch fold glue stitch carve weigh count copy erase print publish mail smuggle
    bribe arrest interrogate hire promote tax audit insure auction inherit donate melt boil
    fry peel chew swallow taste inhale hug tease threaten warn flatter ignore envy admire
    pardon trust suspect blame cheat convince invite greet escort follow haunt hypnotize
    heal vaccinate poison injure bandage tame feed milk harvest plant water excavate drill
    weld demolish flood barricade wrap pack stack lift drag push toss catch drop bounce
    juggle roll spin tie unscrew pour drain sprinkle mix filter sharpen bend crush shred
    pierce staple label sketch film rehearse conduct applaud mock ban veto cancel postpone
    skip accelerate steer park tow hijack navigate cross climb invade besiege conquer defend
    liberate colonize govern boycott
    """
)
ADJECTIVES = listed(
    """
    purple leathery beige scarlet blond wooden woolen silky rusty dusty muddy sticky
    slippery hairy spiky bumpy fluffy greasy crunchy sour salty bitter spicy sweet tiny huge
    narrow wide tall short round square triangular crooked hollow flat steep shallow deep
    frozen warm cold wet dry foggy sunny stormy windy snowy ancient modern temporary eternal
    weekly seasonal medieval prehistoric futuristic sudden honest greedy shy brave lazy
    polite cruel generous jealous stubborn curious clumsy witty arrogant naive loyal
    cheerful gloomy nervous angry sleepy hungry thirsty drunk pregnant blind deaf bald pale
    muscular broken empty crowded noisy silent dark bright invisible transparent blurry
    expensive cheap taxable illegal secret anonymous famous obscure boring funny tragic
    dangerous harmless poisonous edible contagious flammable magnetic electric radioactive
    fragile heavy portable fast slow musical rare abundant random vertical horizontal
    political religious military agricultural urban rural tropical arctic nocturnal aquatic
    imaginary genuine symmetrical elastic ceremonial fragrant wealthy hostile chaotic
    vegetarian
    """
)
