import { z } from 'zod'

/** What a user of a tenant may do beyond what every user may; roles grant them (SECURITY, Identity). */
export const Capability = z.enum([
  'manageModules',
  'manageMarketplace',
  'manageSpaces',
  'manageBoards',
  'manageUsers',
  'readContacts',
  'reviewStore',
])
export type Capability = z.infer<typeof Capability>
