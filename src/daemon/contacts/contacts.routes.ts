import { contactsContract as contract } from '../../core/contacts/index.ts'
import { type Served, serve, tagged } from '../http/index.ts'
import { type ContactsDeps, listContacts, showContact } from './show-contacts.ts'

export const contactsRoutes = (deps: ContactsDeps): Served[] => [
  serve(contract.listContacts, async ({ actor, query }) => tagged(await listContacts(deps, actor, query))),
  serve(contract.showContact, async ({ actor, params }) => tagged(await showContact(deps, actor, params))),
]
