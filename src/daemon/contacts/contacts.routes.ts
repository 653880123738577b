import { contactsContract as contract } from '../../core/contacts/index.ts'
import { type Served, serve, tagged } from '../http/index.ts'
import { type ContactsNeeds, listContacts, showContact } from './show-contacts.ts'

export const contactsRoutes = (needs: ContactsNeeds): Served[] => [
  serve(contract.listContacts, async ({ actor, query }) => tagged(await listContacts(needs, actor, query))),
  serve(contract.showContact, async ({ actor, params }) => tagged(await showContact(needs, actor, params))),
]
