/** What a `Bearer` credential looks like, before anything of it is believed. */
export type CredentialForm = 'jwt' | 'matrix' | 'other'

/** Tokens of the chat server: `syt_` (users), `syr_` (refresh), `as_`-like ones of application services are not known by form; `mat_`, `mct_`, `mcr_` of its authentication service. */
const chatToken = /^(sy[trl]_|mat_|mct_|mcr_|MDAx)/

const jwt = /^[\w-]+\.[\w-]+\.[\w-]+$/

/** Tells a chat token where a platform token belongs from everything else that is wrong. */
export const credentialForm = (credential: string): CredentialForm =>
  jwt.test(credential) ? 'jwt' : chatToken.test(credential) ? 'matrix' : 'other'
