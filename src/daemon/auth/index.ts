// Signing keys and what became of the tokens signed with them: keys rotate, are sealed and published, each audience has its own;
// a sequence of revocations tells every replica within a second what it must no longer believe.
// It never decides who may do what: a token says who and which session, the record says the rest.
import './auth.tables.ts'

export { authRoutes } from './auth.routes.ts'
export { orUnavailable } from './or-unavailable.ts'
export { publishRevocation, type Revocations, type Revoked, watchRevocations } from './revocations.ts'
export { rotateSigningKeys } from './rotate-signing-keys.ts'
export { authSealedColumns } from './sealed-columns.ts'
export { openSigningKeys, type SigningKeys } from './signing-keys.ts'
