// Follows a course of steps that core decides: each act stands between two lines of the journal, and whoever comes after a kill goes on
// from there. It knows no step by name, decides nothing, and turns every failure of a step into a line instead of an exception.
export { type Followed, followCourse, type StepAt, type Steps } from './follow-course.ts'
export { type Ended, refuseOrAnswer } from './refuse-or-answer.ts'
