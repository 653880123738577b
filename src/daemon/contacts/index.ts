// Whom of its tenant a user sees, and who hears when one of them changes: the list, one of it, and the audience of what is recorded of users.
// It changes no user and puts nobody into a space; the rule itself is core's.
export { contactsRoutes } from './contacts.routes.ts'
export { maySee } from './show-contacts.ts'
export { tellContacts } from './tell-contacts.ts'
