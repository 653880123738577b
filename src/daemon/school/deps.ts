import type { PageAccess } from '../http/index.ts'
import type { SessionsDeps } from '../sessions/index.ts'

/** Dependencies of the feature. Each function takes the part it uses. */
export type SchoolDeps = SessionsDeps & Readonly<{ school: PageAccess }>
