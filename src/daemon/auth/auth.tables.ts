type SigningKeyTable = {
  kid: string
  audience: string
  /** Counts up per audience; unique, so that of two replicas that rotate at once one wins. */
  generation: number
  public_jwk: string
  /** Sealed. */
  private_jwk: string
  created_at: string
  sign_from: string
  /** Null for the newest key; set when its successor is made. */
  verify_until: string | null
}

type RevocationTable = { seq: number; kind: string; subject: string; created_at: string }

declare module '../db/database.ts' {
  interface Tables {
    signing_keys: SigningKeyTable
    revocations: RevocationTable
  }
}
