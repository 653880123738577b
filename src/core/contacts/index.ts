// Contacts: the users of a tenant that another user may see, and the audience of events about them.
// Decides both by one rule, so that no user gets an event about a user it may not see. Parents see members of their spaces and listed roles,
// never all parents.
// Reads no user: the daemon applies the rule to the database.
export { type Contact, contactsContract, Search } from './contract.ts'
export { contactAudience, type Visibility, visibilityOf } from './visibility.ts'
