"""What keeps a store useful after a year: forgetting, condensing, confirming, and the clock that drives them."""
