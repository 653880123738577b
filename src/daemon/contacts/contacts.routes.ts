import { contactsContract as contract } from '../../core/contacts/index.ts'
import { serveContract, tagged } from '../http/index.ts'
import { type ContactsDeps, listContacts, showContact } from './contacts.ts'

export const contactsRoutes = (deps: ContactsDeps) =>
  serveContract(contract, {
    listContacts: async ({ actor, query }) => tagged(await listContacts(deps, actor, query)),
    showContact: async ({ actor, params }) => tagged(await showContact(deps, actor, params)),
  })
