package jobs

type Capture struct{ Name, Table string }

const ordersTable = "shop.orders"

var captures = []Capture{{Table: ordersTable}, {Table: "Public.carts"}}
