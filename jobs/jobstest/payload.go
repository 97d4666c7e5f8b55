package jobstest

func payloadCases() []Case { return nil }
