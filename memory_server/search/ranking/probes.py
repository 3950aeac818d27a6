"""A fixed set of questions that no memory of software work answers.

What an index scores on them is what an unrelated question looks like in it; see `calibration.py`. Changing one changes
every score: rebuild afterwards.
"""

PROBES = tuple(
    line.strip()
    for line in """
    What is the boiling point of ethanol at sea level?
    Who painted the ceiling of the Sistine Chapel?
    How do bees communicate the location of flowers?
    What are the rules for castling in chess?
    How is champagne different from prosecco?
    Which river flows through Budapest?
    How many bones does an adult human skeleton have?
    What caused the fall of the Western Roman Empire?
    How do I prune an apple tree in winter?
    What is the capital of Mongolia?
    How does a catalytic converter work?
    When was the printing press invented?
    What is the offside rule in football?
    How long does it take light to travel from the Sun?
    Which spices go into garam masala?
    How do whales sleep without drowning?
    What is the difference between a crocodile and an alligator?
    Who wrote the opera The Magic Flute?
    How do you treat a mild sunburn?
    What does a sommelier do?
    How are diamonds formed in the mantle?
    What is the tallest mountain in South America?
    How do tax brackets work for married couples?
    Why do leaves change colour in autumn?
    What is the plot of Moby Dick?
    How do you tune a violin?
    What was the Marshall Plan?
    How is steel made from iron ore?
    Which vitamin prevents scurvy?
    How do glaciers carve valleys?
    What time zone is Iceland in?
    How do you fold a paper crane?
    What are the stages of a butterfly's life?
    Who was the first woman to win a Nobel Prize?
    How does insulin regulate blood sugar?
    What is the best way to remove rust from cast iron?
    How do vaccines produce immunity?
    What is a sonnet's rhyme scheme?
    How far is it from Lisbon to Madrid by train?
    Which planets have rings?
    How do you change a flat bicycle tyre?
    What are the symptoms of iron deficiency?
    How did the Vikings navigate at sea?
    What is the exchange rate between the euro and the yen?
    How do I get a visa for Brazil?
    What is the difference between a virus and a bacterium?
    How is sourdough starter kept alive?
    Why is the sky blue?
    Who won the men's final at Wimbledon?
    How do elevators stop from falling?
    What is the legal drinking age in Canada?
    How do I write a cover letter for a bank job?
    Which dinosaurs lived in the Cretaceous period?
    What is the dress code at a traditional wedding in India?
    How do solar panels turn sunlight into electricity?
    What was traded along the Silk Road?
    How do you calculate the area of a trapezoid?
    Why do cats purr?
    What is the function of the mitochondria?
    How do hurricanes get their names?
    When should tulip bulbs be planted?
    How do you say good morning in Finnish?
    What is the hardest natural mineral?
    Who directed the film Casablanca?
    """.strip().splitlines()
)
