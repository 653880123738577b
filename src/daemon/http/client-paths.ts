/** Below these are the auth, platform and public routes: what strangers and tenants' users reach. Operators and agents have others. */
export const clientPaths = ['/api/auth', '/api/platform', '/api/public', '/platform'] as const
