// The page of a school: its login, its cookie and its session. The cookie holds the platform token of a user, and counts for calls of the page alone.
// Everything else that the page does goes through the endpoints of users. It opens no endpoint of operators.
import { feature } from '../feature/index.ts'
import type { SchoolDeps } from './deps.ts'
import { schoolRoutes } from './school.routes.ts'

export type { SchoolDeps } from './deps.ts'
export { schoolRoutes } from './school.routes.ts'
export { schoolAccess } from './school-access.ts'

export const schoolFeature = feature<SchoolDeps>({ name: 'school', routes: schoolRoutes })
