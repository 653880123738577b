// `tenantry events`: what happens in tenants and in the fleet, as it is stored, one line each.
// It shows what an event is about and who was told; what it says stays in the database.
import { noun } from '../kit/index.ts'
import { tail } from './tail.ts'

export const events = noun('events', 'What happens in tenants and in the fleet', [tail])
