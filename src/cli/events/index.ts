// `tenantry events`: follow stored events of tenants and the fleet, one line each.
// Shows type, ids and audience of an event, never its payload.
import { noun } from '../kit/index.ts'
import { tail } from './tail.ts'

export const events = noun('events', 'Follow events of tenants and the fleet', [tail])
