// What has to be done in a tenant: the life of a task, who may read it, and who may do what to it.
// Whoever may read a task is told of it: one rule decides both. It stores nothing and knows no board and no automation.
export { tasksContract } from './contract.ts'
export { audienceOf, audienceOfChange, isAssignedTo, mayMove, type TaskCaller } from './rules.ts'
export { roleKey, Task, TaskStatus, unfinished } from './task.ts'
export { type TaskMove, transition } from './transition.ts'
