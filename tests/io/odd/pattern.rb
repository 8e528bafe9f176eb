a pattern                                                               pattern 
             2             1             1             0
psa                        3             3             3             0
(8I5)           (8I5)           
    1    3    4    4
    1    2    3
