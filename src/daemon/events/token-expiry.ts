/** When the token of a call ends, from the claim of a token whose signature was verified before; at once when it names no end. */
export function tokenExpiryMs(authorization: string | undefined): number {
  try {
    const claims = JSON.parse(Buffer.from(authorization?.split('.')[1] ?? '', 'base64url').toString()) as { exp?: unknown }
    return typeof claims.exp === 'number' ? claims.exp * 1000 : 0
  } catch {
    return 0
  }
}
