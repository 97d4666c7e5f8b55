package main

// step is a kind of transition.
type step uint8

// kind says what a step stands for: the function whose work it is, in the words of a trace.
type kind struct {
	text string
	fn   string // as the source names it; "" where the world acts
	fair bool   // possible for ever means taken in the end
}

const (
	insertRows step = iota
	probeRow
	commitTx
	rollBackTx
	registerSub

	deliver
	loseConn
	loseConnUnseen
	goNumb
	connect
	swallowed
	proven
	turnDeaf
	serverEnds
	serverSees

	forgetHeard
	claimSnapshot
	claimRows
	claimOthers
	readSubs
	enqueueJobs
	markRows
	commitPass
	commitPassMore
	commitUnheard
	failPass
	gatherEnds
	takeDuty
	missDuty
	lookAgain
	hearOfIt
	leaveDuty
	pollLooks
	leaveForBackoff
	backoffEnds
	scanFallsDue
	eventFallsDue
	crash
	vanish
	restart
	tick

	steps
)

// kinds is the model's account of the code: a test looks for each function in the source.
var kinds = [steps]kind{
	insertRows:  {text: "inserts its rows", fn: "recorder.Record"},
	probeRow:    {text: "probes the duty lock for a row", fn: "postbus.wake_relay"},
	commitTx:    {text: "commits"},
	rollBackTx:  {text: "rolls back"},
	registerSub: {text: "a second subscription is declared and committed", fn: "mirror.declareSubscriptions"},

	deliver:        {text: "the notification arrives", fn: "Listener.dispatch", fair: true},
	loseConn:       {text: "the listening connection is lost", fn: "session.end"},
	loseConnUnseen: {text: "the listening connection is lost, and the server has not noticed", fn: "session.end"},
	goNumb:         {text: "notifications stop arriving"},
	connect:        {text: "connects anew, listens and hears a Resync", fn: "session.followSubscriptions"},
	swallowed:      {text: "its first probe does not arrive", fn: "session.turnDeaf"},
	proven:         {text: "its probe arrives", fn: "session.probeArrived"},
	turnDeaf:       {text: "finds itself deaf and gives its locks back", fn: "session.turnDeaf"},
	serverEnds:     {text: "the server finds the listening connection dead"},
	serverSees:     {text: "the server finds all its connections dead", fair: true},

	forgetHeard:     {text: "forgets what it heard and begins a pass", fn: "forget", fair: true},
	claimSnapshot:   {text: "claims: takes the snapshot", fn: "relay.pass", fair: true},
	claimRows:       {text: "claims: locks, skips and looks again at each row", fn: "relay.pass", fair: true},
	claimOthers:     {text: "claims other, later events only, and fans them out", fn: "relay.pass", fair: true},
	readSubs:        {text: "reads the subscriptions", fn: "readTargets", fair: true},
	enqueueJobs:     {text: "enqueues the jobs", fn: "fanner.fan", fair: true},
	markRows:        {text: "marks the rows", fn: "fanner.mark", fair: true},
	commitPass:      {text: "commits the pass", fn: "relay.pass", fair: true},
	commitPassMore:  {text: "commits the pass, with later events in it", fn: "relay.pass", fair: true},
	commitUnheard:   {text: "commits the pass and does not hear so", fn: "commitError"},
	failPass:        {text: "the pass fails through its surroundings and rolls back", fn: "relay.failed"},
	gatherEnds:      {text: "has paused", fn: "relay.gather", fair: true},
	takeDuty:        {text: "takes the duty, or has it", fn: "duty.take", fair: true},
	missDuty:        {text: "does not get the duty", fn: "duty.take", fair: true},
	lookAgain:       {text: "looks again after a pause", fn: "relay.look", fair: true},
	hearOfIt:        {text: "hears a notification", fn: "relay.rest", fair: true},
	leaveDuty:       {text: "leaves its duty", fn: "duty.leave", fair: true},
	pollLooks:       {text: "polls", fn: "relay.sleep", fair: true},
	leaveForBackoff: {text: "leaves its duty before it waits", fn: "relay.backOff", fair: true},
	backoffEnds:     {text: "has waited after the failed pass", fn: "relay.backOff", fair: true},
	scanFallsDue:    {text: "has not made a full scan for fullScanEvery", fn: "relay.runOnce", fair: true},
	eventFallsDue:   {text: "is due again", fn: "fanner.fail", fair: true},
	crash:           {text: "dies, and the server sees it"},
	vanish:          {text: "vanishes, and the server does not see it"},
	restart:         {text: "is started again", fn: "relay.run", fair: true},
	tick:            {text: "time passes"},
}

// act is a step and who takes it.
type act uint16

func actOf(s step, who int) act { return act(s)<<2 | act(who) }
func (a act) step() step        { return step(a >> 2) }
func (a act) who() int          { return int(a & 3) }
