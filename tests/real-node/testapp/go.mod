module streaming-operator.test/testapp

go 1.26.0
