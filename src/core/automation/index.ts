// Automation tools: the callbacks they use (spec 4.4), their keys, the room of an event and the report of an event.
// Decides names, limits and texts. Sends nothing and stores nothing; no callback deletes.
export { automationContract, type NewEventTask, type Room, type Warning } from './contract.ts'
export { eventAliasName, eventRoomBody } from './event-room.ts'
export { type AutomationKey, automationKeysContract } from './keys-contract.ts'
export { maxReportTasks, writeReport } from './report.ts'
