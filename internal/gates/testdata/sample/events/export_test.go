package events

// Begin is what the tests of another package see.
var Begin = begin
