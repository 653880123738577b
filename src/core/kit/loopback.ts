/** True if the host of a URL (as `URL.hostname` writes it) is this machine. A name such as `127.example.org` is not: it can point anywhere. */
export const isLoopback = ({ hostname }: Pick<URL, 'hostname'>): boolean => /^(127(\.\d{1,3}){3}|localhost|\[::1\])$/.test(hostname)
