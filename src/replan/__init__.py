"""When should a robot replan?"""
