// Tasks of a tenant: the contract, the states of a task, and the rules for reading and changing it.
// One rule decides who may read a task and who receives its events. It stores nothing and knows no boards and no automation.
export { AssignedRole, OuterTaskId, TaskTitle, tasksContract } from './contract.ts'
export { type Asked, newlyAsked } from './newly-asked.ts'
export { audienceOf, audienceOfChange, isAssignedTo, mayMove, type TaskCaller } from './rules.ts'
export { roleKey, Task, TaskStatus, unfinished } from './task.ts'
export { type TaskMove, transition } from './transition.ts'
