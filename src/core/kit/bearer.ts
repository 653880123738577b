/** The token of `Authorization: Bearer <token>`. One or more spaces separate scheme and token, and the case of the scheme is ignored (RFC 9110, 11.4). */
export const bearerToken = (authorization: string | undefined): string | undefined =>
  /^Bearer +([\x21-\x7e]{1,4096})$/i.exec(authorization ?? '')?.[1]
