// Contacts: whom of its tenant a user may see, and who hears when one of them changes. Both follow from one rule, so that nobody hears of a user
// whom it may not see. A school is no address book: parents see who shares a space with them and whose role is listed, never all parents.
// It knows no user: the daemon finds them.
export { type Contact, contactsContract } from './contract.ts'
export { contactAudience, type Sight, sightOf } from './sight.ts'
