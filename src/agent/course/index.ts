// Follows a course of steps that core decides: each act stands between two lines of the journal, and whoever comes after a kill goes on
// from there. It knows no step by name, decides nothing, and turns every failure of a step into a line instead of an exception.
export { type Followed, followCourse, leftIn, type StepAt, type Steps } from './follow-course.ts'
export { onceToAnEnd } from './once-to-an-end.ts'
export { patiently } from './patiently.ts'
export { type Ended, refuseOrAnswer } from './refuse-or-answer.ts'
export { asAgentError, eventsOf } from './step-lines.ts'
