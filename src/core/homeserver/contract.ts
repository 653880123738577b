import { z } from 'zod'
import { admin, adminPerson, type Contract, endpoint, Timestamp } from '../contract/index.ts'
import { HostName } from '../hosts/index.ts'
import { PlatformAddress } from './platform-address.ts'

const Reached = z.object({ host: z.string(), address: z.string(), updatedAt: Timestamp, updatedBy: z.string() })

/** How the platform reaches the chat servers on hosts that are not its own machine. */
export const homeserverContract = {
  listPlatformAddresses: endpoint({
    method: 'GET',
    path: '/api/admin/v1/platform-addresses',
    auth: admin('viewer'),
    returns: z.object({ addresses: z.array(Reached) }),
    summary: 'Hosts whose boxes are not reached on loopback',
  }),
  setPlatformAddress: endpoint({
    method: 'PUT',
    path: '/api/admin/v1/hosts/:name/platform-address',
    auth: adminPerson('operator'),
    params: z.object({ name: HostName }),
    body: z.strictObject({ address: PlatformAddress.nullable() }),
    returns: z.object({ host: z.string(), address: z.string().nullable() }),
    summary: 'Say where the platform listeners of a host’s boxes are; null: on loopback. It holds from the next call',
  }),
} as const satisfies Contract
