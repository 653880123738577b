// Contacts: the users of its tenant that a user may see, and the events about changes to them.
// Applies the visibility rule of the core to the database.
// Changes no user and no space.
import { contactsContract as contract } from '../../core/contacts/index.ts'
import { feature } from '../feature/index.ts'
import { serveContract, tagged } from '../http/index.ts'
import { type ContactsDeps, listContacts, showContact } from './contacts.ts'

export { isContact, publishContactEvent } from './contacts.ts'

export const contactsRoutes = (deps: ContactsDeps) =>
  serveContract(contract, {
    listContacts: async ({ actor, query }) => tagged(await listContacts(deps, actor, query)),
    showContact: async ({ actor, params }) => tagged(await showContact(deps, actor, params)),
  })

export const contactsFeature = feature<Parameters<typeof contactsRoutes>[0]>({ name: 'contacts', routes: contactsRoutes })
