// What happened in tenants, as it is stored and as it is told: one append-only table, and the streams that their users listen to.
// Only ids leave here, and only to those who may read what they name. What an event means is the business of the room that recorded it.
export { recordEvent } from './record-event.ts'
