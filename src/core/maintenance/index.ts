// Maintenance of the chat server of an organisation, as its people are notified of it: when an update begins, how long the chat is unavailable, how it ended.
// It decides what is notified and in which words. It starts no update and moves none: rollouts do.
export { Maintenance, MaintenanceStatus, maintenanceContract, PlannedMaintenance } from './contract.ts'
export { type MailKind, maintenanceMail } from './mails.ts'
export { type Beginning, beginningOf, changedBeginning, outcomeOf, type Running, type UpdateState } from './schedule.ts'
