// Maintenance of the chat server of an organisation, as its people are told of it: when an update begins, how long the chat is away, how it ended.
// It decides what is told and in which words. It starts no update and moves none: rollouts do.
export { Maintenance, MaintenanceStatus, maintenanceContract, PlannedMaintenance } from './contract.ts'
export { type MailKind, maintenanceMail } from './mails.ts'
export { type Beginning, beginningOf, changedBeginning, outcomeOf, type Running, type UpdateState, type WaitingBox } from './schedule.ts'
