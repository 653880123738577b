/** `ro_…` and `cve-…` mean the chain of that rollout; every other name is that of a chain. */
export const chainOf = (name: string): string => (/^(ro_|cve-)/.test(name) ? `rollout:${name}` : name)
