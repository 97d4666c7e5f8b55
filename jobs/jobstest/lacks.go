package jobstest

func lackCase(lacking Capability) Case {
	return Case{Topic: "lacks", Name: string(lacking), run: func(*env) {}}
}
