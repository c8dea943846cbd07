// Sees a refund with Go's own packages. Usage: go run refund.go READY.json
//
// Not run in this repository's tests: they have no Go.
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
)

func read(client *http.Client, request *http.Request) []byte {
	answer, err := client.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != 200 {
		log.Fatal(answer.Status, err)
	}
	return body
}

func request(method, address string, body []byte) *http.Request {
	made, err := http.NewRequest(method, address, bytes.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	return made
}

func main() {
	line, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	var ready struct {
		Endpoint, Control string
		CAFile            string `json:"ca_file"`
	}
	if err := json.Unmarshal(line, &ready); err != nil {
		log.Fatal(err)
	}
	authority, err := os.ReadFile(ready.CAFile)
	if err != nil {
		log.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	// SSL_CERT_FILE=<ca_file> does the same for a client that cannot be changed.
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true,
	}}
	var known struct {
		Customers []struct {
			Purchases []struct {
				ID string `json:"original_transaction_id"`
			}
		}
	}
	control := ready.Control + "/_simulator/"
	if err := json.Unmarshal(read(client, request("GET", control+"customers", nil)), &known); err != nil {
		log.Fatal(err)
	}
	look := func() {
		asked := request("GET", ready.Endpoint+"/inApps/v1/subscriptions/"+known.Customers[0].Purchases[0].ID, nil)
		// A real client signs a token of its own with the key file.
		asked.Header.Set("Authorization", "Bearer "+string(read(client, request("GET", control+"token", nil))))
		var answer struct {
			Data []struct {
				LastTransactions []struct{ Status int }
			}
		}
		if err := json.Unmarshal(read(client, asked), &answer); err != nil {
			log.Fatal(err)
		}
		fmt.Println("status", answer.Data[0].LastTransactions[0].Status)
	}
	look()
	read(client, request("POST", control+"advance", []byte(`{"days": 2}`)))
	look()
}
