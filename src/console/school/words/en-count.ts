/** `1 person`, `3 people`. */
export const count = (many: number, one: string, several = `${one}s`) => `${many} ${many === 1 ? one : several}`
