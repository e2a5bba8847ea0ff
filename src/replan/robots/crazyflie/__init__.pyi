from .flights import Job as Job, FlightScene as FlightScene, fly_one as fly_one
