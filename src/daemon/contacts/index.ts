// Contacts: the users of its tenant that a user may see, and the events about changes to them.
// Applies the visibility rule of the core to the database.
// Changes no user and no space.
import { feature } from '../feature/index.ts'
import { contactsRoutes } from './contacts.routes.ts'

export { contactsRoutes } from './contacts.routes.ts'
export { isContact, publishContactEvent } from './contacts.ts'

export const contactsFeature = feature<Parameters<typeof contactsRoutes>[0]>({ name: 'contacts', routes: contactsRoutes })
