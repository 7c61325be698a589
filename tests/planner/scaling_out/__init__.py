"""Do more devices pay?"""
